-- What the views need and engines spell differently. On another engine only this file is another one.

-- p50(x), p99(x): exact quantiles; the smallest value of x that at least that share of the rows does not exceed.
-- Both are taken out of one aggregate, so that a query with the two collects the values once.
CREATE MACRO p50(x) AS quantile_disc(x, [0.5, 0.99])[1];
CREATE MACRO p99(x) AS quantile_disc(x, [0.5, 0.99])[2];
