# SPDX-License-Identifier: MIT
"""The opaque blocks of an answer: images, audio, and parts of kinds that streamcore cannot read.

In: parts as a provider sent them; audio in pieces. Out: whole blocks at the end. Refused as
``MALFORMED_RESPONSE``: parts that pass the limit. A value of a wrong type is counted and skipped.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from typing import Any, Callable, Dict, List, Optional, Set, Tuple

from ....values.chunks import StreamChunk
from ....values.frozen import freeze
from ....values.messages import Block, OpaqueBlock
from ....values.strictjson import mend_surrogates, mend_text
from ...growing import Count
from .facts import Allowance, weigh
from .shapes import malformed

Chunks = List[StreamChunk]
OpenBlock = Callable[..., int]

_BLOCK = 1024  # bytes that a block uses beside its part
_GROWING = ("data", "transcript")  # the texts of audio, which come in pieces


class _Part:
    """One part; ``texts`` holds by name the texts that come in pieces."""

    def __init__(self, index: int, kind: str, fields: Dict[str, Any]) -> None:
        self.index = index
        self.kind = kind
        self.fields = fields
        self.texts: Dict[str, List[str]] = {}

    def whole(self) -> Dict[str, Any]:
        joined = {name: "".join(pieces) for name, pieces in self.texts.items()}
        if "data" in joined:
            joined["data"] = _join_base64(self.texts["data"])
        whole: Dict[str, Any] = mend_surrogates({**self.fields, **joined})
        return whole


class Media:
    """Collects the opaque blocks of one answer.

    Args:
        open_block: appends the start of a block to a list of chunks and returns its index.
        allowance: bounds what is kept. The texts of parts, such as the data of an image, do
            not count, because the size of the stream bounds all text.
        count: counts by name what is not kept.
    """

    def __init__(self, open_block: OpenBlock, allowance: Allowance, count: Count) -> None:
        self._open_block = open_block
        self._allowance = allowance
        self._count = count
        self._parts: List[_Part] = []
        self._audio: Optional[_Part] = None  # the last part of audio
        self._images: Set[int] = set()  # hashes of the images so far

    def __len__(self) -> int:
        return len(self._parts)

    def add_part(self, chunks: Chunks, kind: str, part: Dict[str, Any]) -> None:
        """Take a content part of a kind that is not read.

        Raises:
            LlmError: ``MALFORMED_RESPONSE`` if the parts pass the limit. The other methods raise
                it too.
        """
        self._count("content_part_unknown")
        self._add(chunks, mend_text(kind), part)

    def add_images(self, chunks: Chunks, images: Any) -> None:
        """Take the images of a delta; an image that came before is skipped."""
        for image in images if type(images) is list else [images]:
            if type(image) is str and image:
                image = {"image_url": image}
            if type(image) is not dict or not image:
                if image:
                    self._count("delta_field_unknown")
                continue
            key = hash(freeze(image))
            if key in self._images:
                self._count("image_repeated")
                continue
            self._images.add(key)
            self._add(chunks, "image", image)

    def add_audio(self, chunks: Chunks, audio: Any) -> None:
        """Take a piece of audio: its texts grow, and other fields are replaced."""
        if type(audio) is not dict:
            self._count("delta_field_unknown")
            return
        id, part = audio.get("id"), self._audio
        if part is None or (id and id != part.fields.get("id", id)):
            if not any(audio.get(name) for name in ("id", *_GROWING)):
                self._count("delta_field_unknown")
                return
            part = self._audio = self._add(chunks, "audio", {})
        for name, value in audio.items():
            if name in _GROWING and type(value) is str:
                part.texts.setdefault(name, []).append(value)
            elif value is not None:
                self._take(len(name), value)
                part.fields[name] = value

    def whole(self) -> List[Tuple[int, Block]]:
        """Return the whole blocks with their indexes."""
        return [(part.index, OpaqueBlock(freeze(part.whole()), part.kind)) for part in self._parts]

    def _add(self, chunks: Chunks, kind: str, fields: Dict[str, Any]) -> _Part:
        self._take(_BLOCK, fields)
        part = _Part(self._open_block(chunks, "opaque", kind), kind, fields)
        self._parts.append(part)
        return part

    def _take(self, size: int, part: Any) -> None:
        texts = [part, *part.values()] if type(part) is dict else [part]
        texts += [inner for value in texts if type(value) is dict for inner in value.values()]
        data = sum(len(text) for text in texts if type(text) is str)
        if not self._allowance.take(size + max(0, weigh(part) - data)):
            raise malformed("the parts of the answer pass max_document_bytes")


def _join_base64(pieces: List[str]) -> str:
    """Return pieces of base64 as one text; each piece may have been encoded by itself."""
    if any(piece.endswith("=") for piece in pieces[:-1]):
        try:
            return b64encode(b"".join(b64decode(piece, validate=True) for piece in pieces)).decode()
        except binascii.Error:  # not base64: the pieces are joined as they came
            pass
    return "".join(pieces)
