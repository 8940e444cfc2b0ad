"""The sources of a request's candidates."""

from __future__ import annotations

from attrs import frozen

from tierline.session.edits.service import EditService
from tierline.session.files.churn import ChurnService
from tierline.session.files.instructions import InstructionService
from tierline.session.files.service import FileService
from tierline.session.files.urls import UrlService
from tierline.session.memory.anchor import Anchor
from tierline.session.memory.levels import MemoryService
from tierline.session.memory.memos import MemoService
from tierline.session.retrieval.capsules import CapsuleService
from tierline.session.retrieval.semantic import SemanticRanking
from tierline.session.retrieval.service import RetrievalService
from tierline.session.tools.toolbox import ToolService


@frozen
class Sources:
    """The services that are asked, each once for every request."""

    files: FileService
    instructions: InstructionService
    urls: UrlService
    retrieval: RetrievalService
    capsules: CapsuleService
    memory: MemoryService
    memos: MemoService
    anchor: Anchor
    meaning: SemanticRanking
    churn: ChurnService
    edits: EditService
    tools: ToolService
