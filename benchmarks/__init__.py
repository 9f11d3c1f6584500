"""What minutebook costs, measured: `python -m benchmarks`, and `python -m benchmarks.tokens`.

Each cost stands beside its floor, the least that any program would have to do for it, measured
in turns with it in the same run. `docs/benchmarks.md` says what each floor is.
"""
