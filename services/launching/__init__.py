"""The launches of pods, one at a time per owner: a processing element, and what joins later.

The core decides from the owner, its pods and a `Context`; an owner's service reads its own objects,
fills in the context, and carries the effects out with `adapters/carry_out.py`.
"""
