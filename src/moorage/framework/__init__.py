"""The contract between the engine and its plugins, in kube-scheduler's words.

Law of the package: pure, and only the contract: what a plugin may implement (`points`), what it
may answer (`verdicts`), what it may look at (`cycle`), and which events may undo its refusals
(`events`). Knows `moorage.api` and `moorage.cache`; knows no plugin.
"""
