"""Moorage's own plugins, one file or small package each: what kube-scheduler does not have.

Law of the package: pure, like `moorage.plugins`, and entered by the same door.
"""
