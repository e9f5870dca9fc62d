"""Pages, tables and figures that sweeps, comparisons, the paper and studies share."""
