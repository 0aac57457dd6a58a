#!/usr/bin/python3
# Records RedisBloom 2.4.23 wire answers + SCANDUMP bytes against redis-server 7.0.15. usage: golden.py PORT
import sys, redis, struct, hashlib
r = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]), decode_responses=False); r.flushall()
out = open("transcript.txt", "w")
def c(*a):
    try: v = r.execute_command(*a)
    except redis.ResponseError as e: v = "(error) %s" % e
    out.write("> %s\n%r\n" % (" ".join(x.decode("utf8", "replace") if isinstance(x, bytes) else str(x) for x in a), v)); return v
# --- transcripts of articles
for a in ("user1", "user2", "user3"): c("BF.ADD", "user", a)
c("BF.EXISTS", "user", "user1"); c("BF.EXISTS", "user", "user4")
c("BF.MADD", "user", "user4", "user5", "user6"); c("BF.MEXISTS", "user", "user4", "user5", "user6", "user7")
r.delete("user"); c("BF.ADD", "user", "Tom"); c("BF.EXISTS", "user", "Tom"); c("BF.EXISTS", "user", "John"); c("BF.MADD", "user", "Barry", "Jerry", "Mars"); c("BF.MEXISTS", "user", "Barry", "Linda")
c("BF.ADD", "user", "Tom"); c("BF.RESERVE", "user", "0.01", "100"); c("BF.INFO", "user"); c("BF.DEBUG", "user")
c("BF.EXISTS", "nokey", "x"); c("BF.MEXISTS", "nokey", "x", "y"); c("BF.INFO", "nokey")
r.set("str", "x"); c("BF.ADD", "str", "x"); c("BF.EXISTS", "str", "x"); c("BF.RESERVE", "str", "0.01", "100")
for a in (["0", "100"], ["1", "100"], ["-0.1", "100"], ["1.5", "100"], ["x", "100"], ["nan", "100"], ["inf", "100"], ["0.01", "0"], ["0.01", "-1"], ["0.01", "x"], ["0.01", "99999999999999999999"], ["0.9999", "1"], ["0.3", "100"], ["1e-300", "1"], ["0.01", "100", "EXPANSION", "0"], ["0.01", "100", "EXPANSION", "-1"], ["0.01", "100", "EXPANSION", "40000"], ["0.01", "100", "NONSCALING", "EXPANSION", "2"], ["0.01", "100", "EXPANSION"]):
    r.delete("e"); c("BF.RESERVE", "e", *a); 
    if r.exists("e"): c("BF.DEBUG", "e")
c("BF.RESERVE", "e"); c("BF.ADD", "e"); c("BF.ADD", "e", "a", "b")
# non scaling fills up
r.delete("ns"); c("BF.RESERVE", "ns", "0.01", "3", "NONSCALING"); c("BF.MADD", "ns", "a", "b", "c", "d", "e"); c("BF.ADD", "ns", "f"); c("BF.ADD", "ns", "a")
# --- golden dump
def dump(key, pre="BF"):
    it, parts = 0, []
    while True:
        it, d = r.execute_command(pre + ".SCANDUMP", key, it)
        if it == 0: break
        parts.append((it, d))
    return parts
g = open("scandump.tsv", "w")
def gold(name, key, pre="BF"):
    for it, d in dump(key, pre): g.write("%s\titer=%d\tlen=%d\t%s\n" % (name, it, len(d), d.hex() if len(d) <= 400 else "sha256=" + hashlib.sha256(d).hexdigest()))
r.delete("g"); [r.execute_command("BF.ADD", "g", "key%d" % i) for i in range(100)]; gold("default(0.01,100,x2) key0..key99", "g"); c("BF.DEBUG", "g")
r.delete("g"); r.execute_command("BF.RESERVE", "g", "0.01", 100, "NONSCALING"); [r.execute_command("BF.ADD", "g", "key%d" % i) for i in range(100)]; gold("reserve 0.01 100 NONSCALING key0..", "g"); c("BF.DEBUG", "g")
r.delete("g"); r.execute_command("BF.RESERVE", "g", "0.03", 16); [r.execute_command("BF.ADD", "g", s) for s in ("", "a", "手机号", "hello", "x" * 40)]; gold("reserve 0.03 16: '',a,手机号,hello,x*40", "g"); c("BF.DEBUG", "g")
r.delete("g"); r.execute_command("BF.RESERVE", "g", "0.01", 10); [r.execute_command("BF.ADD", "g", "key%d" % i) for i in range(100)]; gold("reserve 0.01 10 (scaled) key0..key99", "g"); c("BF.DEBUG", "g"); c("BF.INFO", "g")
# cuckoo
r.delete("cf"); c("CF.RESERVE", "cf", "64"); [c("CF.ADD", "cf", "key%d" % i) for i in range(5)]; c("CF.EXISTS", "cf", "key1"); c("CF.COUNT", "cf", "key1"); c("CF.ADDNX", "cf", "key1"); c("CF.ADD", "cf", "key1"); c("CF.COUNT", "cf", "key1"); c("CF.DEL", "cf", "key1"); c("CF.COUNT", "cf", "key1"); c("CF.DEL", "cf", "never"); c("CF.DEL", "nocf", "x"); c("CF.EXISTS", "nocf", "x"); c("CF.INFO", "cf"); c("CF.RESERVE", "cf", "64")
gold("CF reserve 64: key0..key4, +key1 -key1", "cf", "CF")
r.delete("cf"); r.execute_command("CF.RESERVE", "cf", 64, "BUCKETSIZE", 4); [r.execute_command("CF.ADD", "cf", "key%d" % i) for i in range(50)]; gold("CF reserve 64 BUCKETSIZE 4: key0..key49", "cf", "CF"); c("CF.INFO", "cf")
for a in (["0"], ["1"], ["3"], ["4"], ["x"], ["64", "BUCKETSIZE", "0"], ["64", "BUCKETSIZE", "256"], ["64", "MAXITERATIONS", "0"], ["64", "EXPANSION", "-1"]):  # CF.RESERVE e 1000000000000000 aborts redis-server with module 2.4.23 (calloc OOM); HEAD caps capacity at 2^30
    r.delete("e"); c("CF.RESERVE", "e", *a)
r.delete("cf"); c("CF.RESERVE", "cf", "8", "EXPANSION", "0"); res = [c("CF.ADD", "cf", "k%d" % i) for i in range(12)]
r.delete("cf"); c("CF.RESERVE", "cf", "8", "BUCKETSIZE", "2", "EXPANSION", "0"); [c("CF.ADD", "cf", "dup") for i in range(6)]
out.close(); g.close()
# --- measured false positive rates
m = open("fpr.tsv", "w"); m.write("filter\tinserted\tqueries\tfpr\tnote\n")
def madd(cmd, key, items):
    p = r.pipeline(transaction=False); new = 0
    for i in range(0, len(items), 1000): p.execute_command(cmd, key, *items[i:i + 1000])
    for x in p.execute(): new += sum(1 for y in x if y == 1)
    return new
def fpr(cmd, key, q=200000):
    p = r.pipeline(transaction=False)
    for i in range(0, q, 1000): p.execute_command(cmd, key, *["q%d" % j for j in range(i, i + 1000)])
    return sum(sum(x) for x in p.execute()) / q
for rate, cap, n in ((0.01, 100, 100), (0.01, 100, 10000), (0.01, 100, 100000), (0.01, 100000, 100000), (0.001, 1000, 100000)):
    r.delete("f"); r.execute_command("BF.RESERVE", "f", rate, cap); new = madd("BF.MADD", "f", ["key%d" % i for i in range(n)])
    dbg = r.execute_command("BF.DEBUG", "f"); m.write("BF rate=%g cap=%d\t%d\t200000\t%.6f\tlayers=%d answered-new=%d (the rest were false positives, never stored) bits/key=%.2f\n" % (rate, cap, n, fpr("BF.MEXISTS", "f"), len(dbg) - 1, new, sum(int(d.decode().split("bits:")[1].split()[0]) for d in dbg[1:]) / n))
for b, cap, n in ((2, 65536, 50000), (2, 65536, 55000), (4, 65536, 60000), (2, 1024, 20000), (4, 1024, 20000), (2, 1024, 60000)):
    r.delete("f"); r.execute_command("CF.RESERVE", "f", cap, "BUCKETSIZE", b)
    p = r.pipeline(transaction=False)
    for i in range(0, n, 1000): p.execute_command("CF.INSERT", "f", "ITEMS", *["key%d" % j for j in range(i, min(n, i + 1000))])
    errs = [str(e)[-40:] for e in p.execute(raise_on_error=False) if isinstance(e, Exception)]
    i = r.execute_command("CF.INFO", "f"); d = dict(zip(i[::2], i[1::2])); got = d[b"Number of items inserted"]; nf = d[b"Number of filters"]
    exp = 1 - (1 - 1 / 255) ** (2 * b * (got / (cap * nf)) * nf)
    m.write("CF cap=%d bucket=%d (8-bit fp)\t%d\t200000\t%.6f\tsubfilters=%d mean-load=%.3f 1-(1-1/255)^(2b*load*layers)=%.5f errors=%d %s\n" % (cap, b, got, fpr("CF.MEXISTS", "f"), nf, got / (cap * nf), exp, len(errs), errs[:1]))
m.close()
