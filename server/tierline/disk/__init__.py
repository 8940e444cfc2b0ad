"""The one door to the disk: every file that Tierline opens for itself is opened here.

A repository decides what lies in its folders: links, pipes, devices, files of any size. So nothing
here follows a link, waits for a pipe, takes anything but a regular file, or reads without a limit.
"""

from tierline.disk.files import (
    append,
    copy,
    create,
    explain,
    names,
    open_append,
    open_read,
    read,
    read_text,
    regular,
    remove,
    rename,
    replace,
    resolved,
    sync,
    sync_folder,
)
from tierline.disk.walk import UnfitError

__all__ = [
    "UnfitError",
    "append",
    "copy",
    "create",
    "explain",
    "names",
    "open_append",
    "open_read",
    "read",
    "read_text",
    "regular",
    "remove",
    "rename",
    "replace",
    "resolved",
    "sync",
    "sync_folder",
]
