# SPDX-License-Identifier: MIT
"""The profiles of hosted providers, one module each; every option has a reason and a source.

A module has one name, ``PROFILE``, and is loaded when its provider is asked for.
``done_marker="optional"`` costs safety, because a cut of the text after the finish word is not
noticed. A profile sets it only if a provider was seen to end every answer of some model without
a whole ``[DONE]``. A source is a page of the provider, a public report
(``owner/repository#number``), or a recorded stream.
"""
