"""A wrong option ends the run before it begins: exit code 4, one line that says what is accepted."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "--agent=nosuch",
            "--agent: 'nosuch' is no agent; known are mock, nop, oracle, random, replay (replay as replay:DIR); those "
            "of a conftest.py are known where that is the rootdir's or in a folder that pytest is given, others come "
            "with -p MODULE",
        ),
        ("--agent=", "--agent: '' is no agent; known are mock, nop, oracle, random, replay"),
        ("--agent=mock:arg", "--agent: agent mock takes no argument (given 'arg')"),
        ("--agent=replay", "--agent: replay:DIR needs a folder of transcripts; '' is none"),
        ("--agent=replay:", "--agent: replay:DIR needs a folder of transcripts; '' is none"),
        ("--agent=replay:missing", "--agent: replay:DIR needs a folder of transcripts; 'missing' is none"),
        ("--rule-timeout=0", "argument --rule-timeout: '0' is not a whole number of at least 1"),
        ("--max-iterations=0", "argument --max-iterations: '0' is not a whole number of at least 1"),
        ("--max-iterations=x", "argument --max-iterations: 'x' is not a whole number of at least 1"),
        ("--gate-examples=0", "argument --gate-examples: '0' is not a whole number of at least 1"),
        ("--gate-examples=-3", "argument --gate-examples: '-3' is not a whole number of at least 1"),
        ("--gate-examples=1.5", "argument --gate-examples: '1.5' is not a whole number of at least 1"),
        ("--iclayout-results=a.toml", "--iclayout-results: {folder}/a.toml is not a folder"),
    ],
)
def test_wrong_option(tasks, pytester, shown, option, message):
    tasks.write("a.toml")
    result = pytester.runpytest_inprocess(option)
    assert_usage_error(result, shown, message.format(folder=pytester.path))


@pytest.mark.parametrize(
    ("ini", "message"),
    [
        ("iclayout_gate_examples = many", "ini value iclayout_gate_examples: 'many' is not a whole number of at least"),
        ("iclayout_gate_examples = 0", "ini value iclayout_gate_examples: '0' is not a whole number of at least 1"),
        ("iclayout_results = a.toml", "ini value iclayout_results: {folder}/a.toml is not a folder"),
    ],
)
def test_wrong_ini_value(tasks, pytester, shown, ini, message):
    tasks.write("a.toml")
    pytester.makeini(f"[pytest]\n{ini}")
    assert_usage_error(pytester.runpytest_inprocess(), shown, message.format(folder=pytester.path))


def test_ini_values_are_taken_from_the_rootdir_and_options_from_here(tasks, pytester, run):
    tasks.write("deep/a.toml")
    pytester.makeini("[pytest]\niclayout_results = out")
    pytester.chdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(pytester.path / "deep")
        run("--agent=oracle", "-m", "solve").assert_outcomes(passed=1)
        run("--agent=oracle", "-m", "solve", "--iclayout-results=here").assert_outcomes(passed=1)
    assert (pytester.path / "out/deep/a/oracle.json").is_file()
    assert (pytester.path / "deep/here/deep/a/oracle.json").is_file()


def test_checker_of_a_name_that_is_taken(tasks, pytester, shown):
    tasks.write("a.toml")
    pytester.makeconftest(
        """
        from iclayout_checkers.rect_present import RectPresent
        def pytest_iclayout_checkers(config):
            return [RectPresent()]
        """
    )
    assert_usage_error(pytester.runpytest_inprocess(), shown, "checker 'rect_present' is registered twice")


def test_checker_of_a_name_that_is_taken_in_a_conftest_that_is_loaded_late(tasks, run, shown):
    """Too late for a usage error: the run has begun."""
    tasks.write("a.toml")
    tasks.write("deep/b.toml")
    tasks.write_text(
        "deep/conftest.py",
        "from iclayout_checkers.rect_present import RectPresent\n"
        "def pytest_iclayout_checkers(config):\n"
        "    return [RectPresent()]\n",
    )
    result = run()
    result.assert_outcomes(passed=2, errors=1)
    assert "checker 'rect_present' is registered twice" in shown(result)


def test_agent_of_a_name_that_is_taken(tasks, pytester, shown):
    tasks.write("a.toml")
    pytester.makeconftest(
        """
        def pytest_iclayout_agents(config):
            return {"mock": lambda argument: None}
        """
    )
    result = pytester.runpytest_inprocess("--agent=nop")
    assert_usage_error(result, shown, "--agent: agent 'mock' is registered twice")


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ("RectPresent", "returned the class RectPresent, not an instance; return a list of checkers"),
        ("[RectPresent]", "returned the class RectPresent, not an instance; return a list of checkers"),
        ("[Half()]", "returned Half without params_model, witness, negatives, variants; return a list of checkers"),
        ("[3]", "returned int without name, params_model, check, witness, negatives, variants; return a list"),
        ("3", "returned int without name, params_model, check, witness, negatives, variants; return a list"),
    ],
)
def test_hook_that_returns_no_checkers(tasks, pytester, shown, returned, message):
    tasks.write("a.toml")
    pytester.makeconftest(
        f"""
        from iclayout_checkers.rect_present import RectPresent
        class Half:
            name = "half"
            def check(self, view, params):
                pass
        def pytest_iclayout_checkers(config):
            return {returned}
        """
    )
    assert_usage_error(pytester.runpytest_inprocess(), shown, f"a hook pytest_iclayout_checkers {message}")


def test_hook_may_return_a_single_checker(tasks, pytester):
    tasks.write("a.toml", checker="own:layer=68/20")
    pytester.makeconftest(
        """
        from iclayout_checkers.rect_present import RectPresent
        class Own(RectPresent):
            name = "own"
        def pytest_iclayout_checkers(config):
            return Own()
        """
    )
    pytester.runpytest_inprocess("--gate-examples=1").assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("returned", "kind"),
    [("[Model]", "list"), ("Model()", "Model"), ("{'model': Model()}", "dict"), ("'model'", "str")],
)
def test_hook_that_returns_no_factories_of_agents(tasks, pytester, shown, returned, kind):
    tasks.write("a.toml")
    pytester.makeconftest(
        f"""
        class Model:
            name = backend = "model"
        def pytest_iclayout_agents(config):
            return {returned}
        """
    )
    message = (
        "--agent: a hook pytest_iclayout_agents returned no mapping of names to factories "
        f"(returned {kind}); return {{'mine': make_agent}}"
    )
    assert_usage_error(pytester.runpytest_inprocess("--agent=nop"), shown, message)


def test_two_agents_that_call_themselves_the_same(tasks, pytester, shown):
    """Records go by the agent's name: the second would replace the first."""
    tasks.write("a.toml")
    pytester.makeconftest(
        """
        class Model:
            name = backend = "model"
        def pytest_iclayout_agents(config):
            return {"model": lambda argument: Model()}
        """
    )
    result = pytester.runpytest_inprocess("--agent=model:big", "--agent=model:small")
    assert_usage_error(result, shown, "--agent: two agents are called model; each needs its own name")


def test_error_of_an_agents_factory_about_its_argument_is_a_usage_error(tasks, pytester, shown):
    tasks.write("a.toml")
    pytester.makeconftest(
        """
        def make(argument):
            raise ValueError(f"model {argument!r} is not known")
        def pytest_iclayout_agents(config):
            return {"model": make}
        """
    )
    result = pytester.runpytest_inprocess("--agent=model:gpt-0")
    assert_usage_error(result, shown, "--agent: model 'gpt-0' is not known")


def assert_usage_error(result, shown, message):
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    lines = [line for line in shown(result).splitlines() if message in line]
    assert len(lines) == 1, shown(result)
