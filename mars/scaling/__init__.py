"""How many workers the coming period needs: forecast, load, ratio, decision. Pure: the time and all figures are arguments.

`forecast` gives the rate at which offsets will arrive, by the model whose last forecasts were the best. `load` gives from it,
and from what waits, the number of mappers. `ratio` gives the reducers from it. `decide` says whether that is worth a change.
`api/instance/scaling.py` measures and acts; docs/elasticity.md says which rules are kept and why.
"""
