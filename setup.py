from setuptools import setup  # SPDX-License-Identifier: MIT
setup()
