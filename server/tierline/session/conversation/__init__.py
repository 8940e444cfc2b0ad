"""The current conversation: what is in the log, how clients see it, who may change it when."""

from tierline.session.conversation.service import Conversation, attached_of

__all__ = ["Conversation", "attached_of"]
