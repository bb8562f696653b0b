"""Running what others wrote: limits, Landlock, seccomp, another user, bubblewrap.

One policy (:mod:`.policy`) for deck scripts, Python scripts and programs; :mod:`.fork_server` runs jobs under it.
"""
