"""Images: each stored once, named by the hash of its bytes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path

import attrs

from tierline import disk
from tierline.context.blocks import Image, pictures, with_pictures
from tierline.disk.folder import make
from tierline.history.messages import Message
from tierline.store.errors import StorageError, workspace_gone

_SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
MAX_BYTES = 64 * 1024 * 1024
"""Bytes; larger files were not stored by us."""
_FRESH = 3_600.0
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")


class ImageStore:
    """The folder ``.tierline/images``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def save(self, image: Image) -> Image:
        """Store the bytes and return the image with its ``ref`` and its data in one spelling.

        Raises:
            StorageError: the data is not base64, or it cannot be written.
        """
        try:
            raw = base64.b64decode("".join(image.data.split()), validate=True)
        except (binascii.Error, ValueError) as error:
            raise StorageError(
                "The picture could not be read: its data is not base64.", "Attach it again."
            ) from error
        suffix = _SUFFIXES.get(image.media_type, "bin")
        ref = f"{hashlib.sha256(raw).hexdigest()[:32]}.{suffix}"
        path = self.folder / ref
        found = disk.regular(path)
        if found is None or found.st_size != len(raw) or time.time() - found.st_mtime > _FRESH:
            # An old file gets a new time: ``tierline gc`` keeps new pictures.
            self._write(path, raw)
        return attrs.evolve(image, data=base64.b64encode(raw).decode("ascii"), ref=ref)

    def load(self, ref: str) -> bytes | None:
        """The bytes of a stored image; None if it is missing, damaged or not one of ours."""
        if not _NAME.fullmatch(ref):
            return None
        try:
            raw = disk.read(self.folder / ref, MAX_BYTES)
        except OSError:
            return None
        stem = ref.partition(".")[0]
        ours = re.fullmatch("[0-9a-f]{32}", stem)
        return None if ours and hashlib.sha256(raw).hexdigest()[:32] != stem else raw

    def restore(self, image: Image) -> Image:
        """The image with its data. Without its file the data stays empty; a placeholder is sent."""
        if image.data or not image.ref:
            return image
        raw = self.load(image.ref)
        if raw is None:
            return image
        return attrs.evolve(image, data=base64.b64encode(raw).decode("ascii"))

    def save_all(self, message: Message) -> Message:
        """A message with every picture stored and named in ``image_refs``."""
        if not pictures(message.content):
            return message
        changed = _each(message, lambda i: self.save(i) if i.data else i)
        refs = dict.fromkeys((*message.image_refs, *(i.ref for i in pictures(changed.content))))
        return attrs.evolve(changed, image_refs=tuple(r for r in refs if r))

    def restore_all(self, message: Message) -> Message:
        """The message with the data of every picture filled in."""
        return _each(message, self.restore) if pictures(message.content) else message

    def _write(self, path: Path, raw: bytes) -> None:
        """Write beside the target and rename, so that no partial image is ever visible."""
        try:
            make(self.folder)
            disk.replace(path, raw, mode=0o600)
        except OSError as error:
            raise workspace_gone(path) or StorageError(
                f"The picture could not be stored: {error.strerror or error}.",
                "Check the space and permissions of the .tierline folder, then attach it again.",
            ) from error


def _each(message: Message, change: Callable[[Image], Image]) -> Message:
    return attrs.evolve(message, content=tuple(with_pictures(b, change) for b in message.content))
