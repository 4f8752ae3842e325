# Makes sphere_mean.csv: order, k, ln(Gamma(order+1) (2/k)^order I_order(k)).
from mpmath import besseli, log, loggamma, mp, mpf, nstr

mp.dps = 40
for nu in ["-0.5", "0", "3.5", "63.5", "511.5"]:
    for k in ["1e-6", "0.3", "13.8", "138", "1e4", "1e8"]:
        n, x = mpf(nu), mpf(k)
        value = loggamma(n + 1) + n * log(2 / x) + log(besseli(n, x, maxterms=10**7))
        print(nu, k, nstr(value, 20), sep=",")
