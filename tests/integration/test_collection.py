"""Which items a run has, what they are called, and how they are selected."""

from __future__ import annotations

import json
from importlib import resources

import pytest

SKY130_TECH = """\
technology sky130
dbu_per_micron 1000
layer 67 20 li1 D9A13BB0
layer 67 44 mcon 7C5A1590
layer 68 20 met1 3C78C8A0
stack 67 20 936 100
stack 67 44 1036 340
stack 68 20 1376 360
"""
WIRE_INTENT = {
    "nets": [
        {
            "name": "n",
            "terminals": [
                {
                    "name": name,
                    "layer": {"layer": 68, "datatype": 20},
                    "region": {"min": {"x": x, "y": 0}, "max": {"x": x + 10, "y": 10}},
                }
                for name, x in (("a", 0), ("b", 500))
            ],
        }
    ],
    "forbidden": [],
}


def test_items_of_a_task_have_their_exact_node_ids(tasks, collected):
    tasks.write("layout/one.toml")
    assert collected("--agent=mock") == [
        "layout/one.toml::accepts",
        "layout/one.toml::rejects",
        "layout/one.toml::solve[mock]",
    ]


def test_without_an_agent_only_the_gate_is_collected(tasks, collected):
    tasks.write("one.toml")
    assert collected() == ["one.toml::accepts", "one.toml::rejects"]


def test_every_agent_has_its_own_item_and_one_given_twice_has_one(tasks, collected):
    tasks.write("one.toml")
    assert collected("--agent=nop", "--agent=mock", "--agent=nop", "-m", "solve") == [
        "one.toml::solve[nop]",
        "one.toml::solve[mock]",
    ]


def test_tier_selects_in_folders_of_any_name(tasks, collected):
    tasks.write("flat/a.toml", tier=1)
    tasks.write("flat/b.toml", tier=2)
    assert collected("-k", "tier1") == ["flat/a.toml::accepts", "flat/a.toml::rejects"]
    assert collected("-k", "tier2 and accepts") == ["flat/b.toml::accepts"]


def test_word_of_a_tier_also_selects_folders_and_names_that_contain_it(tasks, collected):
    tasks.write("tier1/a.toml", tier=2)
    tasks.write("flat/from_tier1.toml", tier=3)
    tasks.write("flat/b.toml", tier=2)
    assert collected("-k", "tier1 and accepts") == ["flat/from_tier1.toml::accepts", "tier1/a.toml::accepts"]


def test_checker_selects_by_its_name(tasks, collected):
    tasks.write("a.toml")
    tasks.write("b.toml", checker="shape_count:layer=68/20,exact=1")
    assert collected("-k", "shape_count") == ["b.toml::accepts", "b.toml::rejects"]


def test_markers_select_gate_and_solve(tasks, collected):
    tasks.write("one.toml")
    assert collected("--agent=nop", "-m", "gate") == ["one.toml::accepts", "one.toml::rejects"]
    assert collected("--agent=nop", "-m", "solve") == ["one.toml::solve[nop]"]


def test_file_and_node_id_as_arguments(tasks, collected):
    tasks.write("a.toml")
    tasks.write("b.toml")
    assert collected("b.toml") == ["b.toml::accepts", "b.toml::rejects"]
    assert collected("b.toml::rejects") == ["b.toml::rejects"]
    assert collected("--agent=nop", "a.toml::solve[nop]") == ["a.toml::solve[nop]"]


def test_first_failure_ends_the_run_with_x(tasks, run):
    tasks.write("a.toml")
    tasks.write("b.toml")
    run("--agent=nop", "-x").assert_outcomes(passed=2, failed=1)


def test_lf_runs_what_failed_again_and_nothing_else(tasks, run):
    tasks.write("a.toml")
    tasks.write("b.toml")
    run("--agent=nop", "--agent=oracle").assert_outcomes(failed=2, passed=6)
    run("--agent=nop", "--agent=oracle", "--lf").assert_outcomes(failed=2)


def test_toml_files_of_other_programs_are_left_alone(tasks, run, shown):
    tasks.write_text("pyproject.toml", '[project]\nname = "x"\nversion = "1"\n')
    tasks.write_text("manifest.toml", 'name = "an app"\npermissions = []\n')
    tasks.write_text("config/app.toml", 'id = "app"\nthis is not TOML\n')
    tasks.write_text("config/empty.toml", "")
    result = run()
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert "error" not in shown(result).lower()


@pytest.mark.parametrize(
    ("keys", "is_task"),
    [
        (("checker", "id"), True),
        (("prompt", "checker"), True),
        (("checker", "technology"), True),
        (("id", "tier", "technology"), True),
        (("id", "prompt", "tier"), True),
        (("checker",), False),
        (("id", "prompt"), False),
        (("tier", "technology"), False),
    ],
)
def test_keys_by_which_a_file_outside_of_suites_is_a_task(tasks, collected, run, keys, is_task):
    """An id and a prompt are anybody's: a chat program's settings are no broken task."""
    tasks.write_text("a.toml", "\n".join(f'{key} = "x"' for key in keys))
    assert collected() == []
    run().assert_outcomes(errors=int(is_task))


def test_keys_within_tables_do_not_make_a_task(tasks, run):
    tasks.write_text("a.toml", '[lint]\nid = "x"\nchecker = "x"\ntier = 1\nprompt = "x"\n')
    tasks.write_text("b.toml", 'id = "x"\n[[rule]]\nchecker = "x"\nprompt = "x"\n')
    assert run().ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_technology_in_a_suites_folder_is_no_task(tasks, run, collected):
    technology = (resources.files("pytest_iclayout.technology") / "data" / "sky130.toml").read_text(encoding="utf-8")
    tasks.write_text("suite/manifest.toml", 'version = "1"\ntasks = ["a"]\n')
    tasks.write_text("suite/sky130.toml", technology)
    tasks.write_text("suite/other.toml", 'name = "other"\n[[rules]]\nid = "m1.1"\n')
    tasks.write("suite/a.toml", technology="sky130.toml")
    assert collected() == ["suite/a.toml::accepts", "suite/a.toml::rejects"]
    run().assert_outcomes(passed=2, errors=0)


def test_file_given_by_name_is_a_task_whatever_it_holds(tasks, run, shown):
    tasks.write_text("settings.toml", "[app]\nname = 1\n")
    result = run("settings.toml")
    result.assert_outcomes(errors=1)
    assert "settings.toml: id: required, but not given" in shown(result)


def test_project_without_tasks_does_not_pay_for_layout_libraries(tasks, pytester):
    tasks.write_text("pyproject.toml", '[project]\nname = "x"\n')
    pytester.makepyfile(
        test_imports="""
        import sys
        def test_nothing_heavy_was_imported():
            heavy = {"klayout", "klayout.db", "gdstk", "pydantic", "pytest_iclayout.collect"}
            assert not heavy & set(sys.modules)
        """
    )
    # A process of its own, for what this one has imported already.
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_suite_gives_its_name_and_version_to_the_records(tasks, run, records):
    tasks.write_text("mine/manifest.toml", 'name = "suite-x"\nversion = "0.4.0"\ntasks = ["a"]\n')
    tasks.write("mine/deep/er/a.toml")
    run("--agent=oracle", "-m", "solve").assert_outcomes(passed=1)
    (record,) = records().values()
    assert (record["suite"], record["suite_version"]) == ("suite-x", "0.4.0")
    assert list(records()) == ["suite-x/a/oracle.json"]


def test_manifest_that_lists_a_task_without_a_file_is_an_error(tasks, run, shown):
    tasks.write_text("s/manifest.toml", 'version = "1"\ntasks = ["a", "lost", "gone"]\n')
    tasks.write("s/a.toml")
    result = run()
    result.assert_outcomes(errors=1, passed=2)
    assert "manifest.toml: tasks: no file for lost, gone" in shown(result)


def test_manifest_lists_ids_and_not_names_of_files(tasks, run):
    tasks.write_text("s/manifest.toml", 'version = "1"\ntasks = ["a"]\n')
    tasks.write("s/first_task.toml", id="a")
    run().assert_outcomes(passed=2)


@pytest.mark.parametrize(
    "head",
    [
        "# a task\n\nid = 'a'\n",
        'id = """a"""\n',
        '"id" = "a" # its name\n',
        'refinement = [\n"""\nid = "b"\n"""]\nid = "a"\n',
    ],
)
def test_manifest_finds_ids_however_they_are_written(tasks, run, head):
    tasks.write_text("s/manifest.toml", 'version = "1"\ntasks = ["a"]\n')
    whole = tasks.write("s/first_task.toml", id="a").read_text()
    tasks.write_text("s/first_task.toml", head + whole.partition("\n")[2])
    run().assert_outcomes(passed=2)


def test_manifest_that_lists_a_task_twice_is_an_error(tasks, run, shown):
    tasks.write_text("s/manifest.toml", 'version = "1"\ntasks = ["a", "b", "a"]\n')
    result = run()
    result.assert_outcomes(errors=1)
    assert "manifest.toml: tasks: a is listed twice" in shown(result)


def test_manifest_with_an_unknown_key_names_the_key(tasks, run, shown):
    tasks.write_text("s/manifest.toml", 'version = "1"\ntasks = ["a"]\nverison = "2"\n')
    result = run()
    result.assert_outcomes(errors=1)
    assert "manifest.toml: verison: unknown key; keys are name, version and tasks" in shown(result)


def test_id_used_twice_in_a_suite_is_an_error_that_names_both_files(tasks, run, shown):
    tasks.write_text("s/manifest.toml", 'version = "1"\ntasks = ["a"]\n')
    tasks.write("s/x/a.toml")
    tasks.write("s/y/again.toml", id="a")
    result = run()
    result.assert_outcomes(errors=1, passed=2)
    text = shown(result)
    assert "again.toml: id: 'a' is the id of " in text
    assert "x/a.toml already" in text


def test_two_suites_of_one_name_cannot_overwrite_each_others_records(tasks, run, shown):
    """Records go by suite and id: two folders of one name, without a manifest, would share them."""
    tasks.write("one/tasks/a.toml")
    tasks.write("two/tasks/a.toml")
    tasks.write("two/tasks/b.toml")
    result = run("--agent=nop", "-m", "gate")
    result.assert_outcomes(errors=1, passed=4)
    assert "a manifest.toml can give it another name" in shown(result)


def test_published_suite_is_read_as_it_is(tasks, run, records):
    """A flat folder: version and tasks, a technology in line syntax, checker strings, intent as JSON text."""
    tasks.write_text("suite/sky130.tech", SKY130_TECH)
    tasks.write_text("suite/manifest.toml", 'version = "0.4.0"\ntasks = ["t1_wire", "t1_area", "t1_rect"]\n')
    tasks.write("suite/t1_wire.toml", technology="sky130.tech", checker="intent", intent=json.dumps(WIRE_INTENT))
    tasks.write("suite/t1_area.toml", technology="sky130.tech", checker="layer_area:layer=68/20,min_area=83000")
    tasks.write("suite/t1_rect.toml", technology="sky130.tech", checker="rect_present", refinement="wider")
    run("--agent=oracle", "--agent=nop").assert_outcomes(passed=9, failed=3)
    assert {(one["technology"], one["suite"], one["suite_version"]) for one in records().values()} == {
        ("sky130", "suite", "0.4.0")
    }


def test_fault_in_a_technology_text_names_its_line(tasks, run, shown):
    tasks.write_text("sky130.tech", SKY130_TECH.replace("layer 67 44", "layer sixtyseven 44"))
    tasks.write("a.toml", technology="sky130.tech")
    result = run()
    result.assert_outcomes(errors=1)
    assert "sky130.tech: line 4: LAYER must be an integer (given 'sixtyseven')" in shown(result)


def test_candidate_with_provenance_and_right_vectors_passes(tasks, run):
    tasks.write(
        "mined.toml",
        more="""
        [provenance]
        runs = 3
        signature = { intent = "none" }
        [[two_way.good]]
        layer = "68/20"
        rect = [0, 0, 500, 400]
        [[two_way.bad]]
        layer = "69/20"
        rect = [0, 0, 500, 400]
        """,
    )
    run("--agent=oracle").assert_outcomes(passed=3)


@pytest.mark.parametrize(
    ("vector", "layer", "failing", "message"),
    [
        ("good", "69/20", "accepts", "checker rect_present rejected good layout 0 of the task, which is right"),
        ("bad", "68/20", "rejects", "checker rect_present accepted bad layout 0 of the task, which is wrong"),
    ],
)
def test_candidate_whose_vector_is_judged_wrongly_fails_its_gate(tasks, run, shown, vector, layer, failing, message):
    tasks.write("mined.toml", more=f'[[two_way.{vector}]]\nlayer = "{layer}"\nrect = [0, 0, 500, 400]')
    result = run("-rf")
    result.assert_outcomes(passed=1, failed=1)
    assert f"FAILED mined.toml::{failing}" in shown(result)
    assert message in shown(result)


@pytest.mark.parametrize(("vector", "layer"), [("good", "69/20"), ("bad", "68/20")])
def test_candidate_whose_vector_is_judged_wrongly_scores_no_agent(tasks, run, records, vector, layer):
    tasks.write("mined.toml", more=f'[[two_way.{vector}]]\nlayer = "{layer}"\nrect = [0, 0, 500, 400]')
    run("--agent=oracle", "-m", "solve").assert_outcomes(errors=1)
    (record,) = records().values()
    assert record["outcome"] == "error"
    assert "the oracle may not judge" in record["reason"]


def test_fixture_of_the_same_name_in_a_conftest_changes_nothing(tasks, run, pytester):
    pytester.makeconftest(
        """
        import pytest

        @pytest.fixture
        def task():
            raise RuntimeError("a fixture of someone else's")

        @pytest.fixture
        def checker():
            raise RuntimeError("a fixture of someone else's")
        """
    )
    tasks.write("a.toml")
    run("--agent=oracle").assert_outcomes(passed=3)


def test_warnings_as_errors_find_none_of_ours(tasks, pytester):
    tasks.write("a.toml")
    # A process of its own: pytest warns when a plugin is there before it, as it is in this one.
    pytester.runpytest_subprocess("-W", "error", "--agent=oracle", "--gate-examples=1").assert_outcomes(passed=3)


@pytest.mark.parametrize("option", ["--setup-show", "--setup-plan", "--fixtures-per-test", "--durations=0"])
def test_options_of_pytest_that_look_into_items_find_what_they_need(tasks, run, shown, option):
    tasks.write("a.toml")
    result = run("--agent=oracle", option)
    assert result.ret in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    shown(result)


def test_checkers_of_conftests_in_folders_are_known_to_their_tasks(tasks, collected):
    """pytest loads such a conftest.py when it comes to the folder: after the first task, perhaps."""
    for name in ("one", "two"):
        tasks.write_text(
            f"{name}/conftest.py",
            f"""
from iclayout_checkers.rect_present import RectPresent

class Own(RectPresent):
    name = "own_{name}"

def pytest_iclayout_checkers(config):
    return [Own()]
""",
        )
        tasks.write(f"{name}/a.toml", checker=f"own_{name}:layer=68/20", id=f"a_{name}")
    assert [item for item in collected() if item.endswith("accepts")] == ["one/a.toml::accepts", "two/a.toml::accepts"]


def test_plugin_works_without_xdist(tasks, run):
    tasks.write("suite/a.toml")
    run("-p", "no:xdist", "--agent=oracle").assert_outcomes(passed=3)
