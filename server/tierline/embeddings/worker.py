"""The process that embeds: one JSON request a line on standard input, one answer a line.

    {"id": 1, "texts": ["..."]}  ->  {"id": 1, "vectors": ["<base64 of float32, little endian>"]}

It ends with its standard input, and in the middle of its work when the server is gone.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
import threading
import time
from pathlib import Path


def main() -> int:
    """Serve until standard input ends."""
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # it works in the background: one core is enough
    with contextlib.suppress(AttributeError, OSError, ValueError):
        os.nice(int(os.environ.get("TIERLINE_EMBEDDINGS_NICE", "10")))
    out = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # whatever a library prints must not get between the answers
    from tierline.embeddings.bert import Bert

    model = Bert(Path(sys.argv[1]))
    print(json.dumps({"ready": True, "dimension": model.dimension}), file=out, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        vectors = model.embed([str(text) for text in request["texts"]])
        encoded = [base64.b64encode(v.astype("<f4").tobytes()).decode("ascii") for v in vectors]
        print(json.dumps({"id": request["id"], "vectors": encoded}), file=out, flush=True)
    return 0


def _leave_with(parent: int) -> None:
    """End this process once ``parent`` is gone: an orphan gets another, where systems show it."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
