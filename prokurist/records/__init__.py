"""Record batches: pure Python as the specification, a native twin as the default.

Thread: either; nothing here keeps state.
Holds: the codec and its two implementations. `implementation` decides between
them once, at import.
May import: the vocabulary (`types`, `errors`, `config`).
"""
