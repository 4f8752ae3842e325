# Makes bessel.csv: order, x, I_{order+1}(x)/I_order(x), 1 - that.
from mpmath import mp, mpf, besseli, nstr

mp.dps = 40
orders = ["-0.5", "0", "0.5", "1", "3.5", "20", "63.5", "255.5", "512", "50000"]
arguments = ["1e-8", "1e-3", "0.7", "13.8", "49.9", "50.1", "700", "1e4", "1.3e6", "1e8"]
for nu in orders:
    for x in arguments:
        if nu == "50000" and float(x) > 1e4:
            continue  # mpmath takes hours
        r = besseli(mpf(nu) + 1, mpf(x), maxterms=10**7) / besseli(mpf(nu), mpf(x), maxterms=10**7)
        print(nu, x, nstr(r, 20), nstr(1 - r, 20), sep=",")
