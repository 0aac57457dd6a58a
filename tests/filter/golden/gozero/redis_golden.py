#!/usr/bin/python3
# Runs go-zero's two Lua scripts against a real redis-server and records
# the exact key bytes.  usage: redis_golden.py PORT  (redis-server --port PORT --bind 127.0.0.1)
import sys, redis
r = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]))
SET = 'for _, offset in ipairs(ARGV) do\n    redis.call("setbit", KEYS[1], offset, 1)\nend'
TEST = 'for _, offset in ipairs(ARGV) do\n    if tonumber(redis.call("getbit", KEYS[1], offset)) == 0 then\n        return false\n    end\nend\nreturn true'
rows = [l.rstrip("\n").split("\t") for l in open("offsets.tsv")][1:]
off = {(int(b), bytes.fromhex(k)): o.split(",") for b, k, o in rows}
out = open("keys.tsv", "w"); out.write("bits\tinserted\tSTRLEN\tBITCOUNT\tkey_bytes_hex(trailing zero bytes are NOT stored)\n")
for bits, ins in [(64, [b"hello", b"world"]), (1024, [b"hello"]), (1024, [b"hello", b"world"]), (1024, ["手机号".encode(), b"", b"user:1001"]), (2000, [b"key%d" % i for i in range(20)])]:
    r.delete("bl")
    assert r.eval(TEST, 1, "bl", *off[(bits, ins[0])]) is None          # missing key -> Lua false -> nil
    for k in ins: assert r.eval(SET, 1, "bl", *off[(bits, k)]) is None  # set script returns nil
    for k in ins: assert r.eval(TEST, 1, "bl", *off[(bits, k)]) == 1    # Lua true -> integer 1
    v = r.get("bl")
    out.write("%d\t%s\t%d\t%d\t%s\n" % (bits, ",".join(k.hex() for k in ins), r.strlen("bl"), r.bitcount("bl"), v.hex()))
out.close()
# bitmap facts
f = open("bitmap.txt", "w")
r.delete("foo"); r.set("foo", "a"); f.write("set foo a; setbit foo 6 1 -> %d; setbit foo 7 0 -> %d; get foo -> %r\n" % (r.setbit("foo", 6, 1), r.setbit("foo", 7, 0), r.get("foo")))
r.delete("z"); r.setbit("z", 100, 1); f.write("setbit z 100 1 on a missing key: strlen=%d bytes=%s\n" % (r.strlen("z"), r.get("z").hex()))
f.write("getbit z 5000 (past the end) -> %d; exists missing getbit -> %d\n" % (r.getbit("z", 5000), r.getbit("nokey", 1)))
for o in ("4294967295", "4294967296", "-1", "1.5", "99999999999999999999"):
    if o == "4294967295": f.write("setbit big 4294967295 1 -> not run here (allocates 512 MiB); offset is legal\n"); continue
    try: f.write("setbit z %s 1 -> %r\n" % (o, r.execute_command("SETBIT", "z", o, 1)))
    except Exception as e: f.write("setbit z %s 1 -> ERR %s\n" % (o, e))
for v in ("2", "-1", "x"):
    try: f.write("setbit z 1 %s -> %r\n" % (v, r.execute_command("SETBIT", "z", 1, v)))
    except Exception as e: f.write("setbit z 1 %s -> ERR %s\n" % (v, e))
r.delete("L"); r.lpush("L", "x")
try: r.setbit("L", 1, 1)
except Exception as e: f.write("setbit on a list -> %s\n" % e)
# sign-in calendar: key sign:{uid}:{yyyyMM}, offset = day-1
r.delete("s"); days = [1, 2, 3, 5, 6, 9, 10, 11, 12]
for d in days: r.setbit("s", d - 1, 1)
f.write("sign-in days %s: key bytes=%s BITCOUNT=%d BITPOS(0)=%d GETBIT day4=%d\n" % (days, r.get("s").hex(), r.bitcount("s"), r.bitpos("s", 0), r.getbit("s", 3)))
for d in (12, 10, 4, 31):
    v = r.execute_command("BITFIELD", "s", "GET", "u%d" % d, 0)[0]; n = 0; x = v
    while x & 1: n += 1; x >>= 1
    f.write("BITFIELD s GET u%d 0 -> %d ; consecutive days ending on day %d = %d\n" % (d, v, d, n))
for d in (63, 64):
    try: f.write("BITFIELD s GET u%d 0 -> %r\n" % (d, r.execute_command("BITFIELD", "s", "GET", "u%d" % d, 0)))
    except Exception as e: f.write("BITFIELD s GET u%d 0 -> ERR %s\n" % (d, e))
# rename swap: atomic replacement, old value gone, TTL follows the source key
r.set("bloom", "old"); r.expire("bloom", 500); r.set("bloom.new", "new"); r.rename("bloom.new", "bloom")
f.write("rename bloom.new bloom: get=%r ttl=%d exists(bloom.new)=%d\n" % (r.get("bloom"), r.ttl("bloom"), r.exists("bloom.new")))
try: r.rename("nope", "bloom")
except Exception as e: f.write("rename of a missing key -> ERR %s\n" % e)
# SET NX PX lock and token-checked release
f.write("set lock t1 NX PX 300000 -> %r; second -> %r\n" % (r.set("lock", "t1", nx=True, px=300000), r.set("lock", "t2", nx=True, px=300000)))
rel = 'if redis.call("get",KEYS[1])==ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end'
f.write("release with the wrong token -> %d; right token -> %d\n" % (r.eval(rel, 1, "lock", "t2"), r.eval(rel, 1, "lock", "t1")))
f.close()
