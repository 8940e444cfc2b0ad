"""The pictures of a prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from tierline import protocol as p
from tierline.context.blocks import Image
from tierline.errors import TierlineError
from tierline.session.models import ModelService


async def check_images(images: Sequence[p.ImageInput], models: ModelService) -> tuple[Image, ...]:
    """The pictures of a prompt, ready to be sent.

    Raises:
        TierlineError: ``not_sendable`` if one of them cannot be sent: otherwise the prompt would be
            answered as if it had been seen.
    """
    from tierline.workspace.images import check

    kept: list[Image] = []
    refused: list[str] = []
    for number, given in enumerate(images, 1):
        which = f"Picture {number}" if len(images) > 1 else "The picture"
        kind = f" ({given.media_type})" if given.media_type else ""
        checked = await asyncio.to_thread(check, given.data, which + kind)
        if isinstance(checked, Image):
            kept.append(checked)
        else:
            refused.append(checked.message)
    if refused:
        raise TierlineError(
            "not_sendable",
            f"Nothing was sent. {' '.join(refused)}",
            "Take it away or attach another picture, then send again.",
        )
    if kept and not models.facts().sees_images:
        raise TierlineError(
            "not_sendable",
            f"Nothing was sent. {models.facts().name} takes no pictures.",
            "Take the picture away, or choose a model that sees pictures.",
        )
    return tuple(kept)
