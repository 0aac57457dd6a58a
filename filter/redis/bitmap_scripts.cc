#include "filter/redis/bitmap_scripts.h"

#include "absl/strings/str_cat.h"
#include "filter/redis/key_slot.h"

namespace winnow::filter::redis {
namespace {

// Scripts are put together from these pieces, each of which relies on the locals of those before
// it: kStamp defines s, c and stamp, kToken token, kTimes now, expire, keep_notes, renew, make and
// configure, kHolder maker and holder. Redis runs a script as one step, but does not undo what it
// has done if a command in it fails: so checks come before writes.
//
// The configuration as one string: whoever has computed offsets for another one is refused.
// Redisson's own hash is part of it, so that what Redisson changes is noticed.
// Fields that are missing count as empty: a filter that Redisson alone has configured has a stamp
// as well.
constexpr absl::string_view kStamp = R"lua(
local s = redis.call('HMGET', KEYS[2], 'rule', 'bits', 'probes', 'generation')
local c = redis.call('HMGET', KEYS[3], 'size', 'hashIterations')
local stamp = table.concat({s[1] or '', s[2] or '', s[3] or '', s[4] or '', c[1] or '',
                            c[2] or ''}, ':')
)lua";

// Half of a generation is none: if its bits were evicted and the rebuild's hash was not, writers
// must not make them again, nor anybody commit them.
constexpr absl::string_view kToken = R"lua(
local r = redis.call('HMGET', KEYS[5], 'token', 'bytes')
local token = r[1] or ''
if token ~= '' and redis.call('STRLEN', KEYS[4]) ~= tonumber(r[2]) then
  redis.call('DEL', KEYS[4], KEYS[5])
  token = ''
end
)lua";

// What a batch costs is the server's work for each bit, and that is little but the handling of
// arguments. So offsets come packed in one (see PackOffsets), as the text that commands want, since
// printing a number is Lua's slowest step; and bits are set by seven: that has no more arguments
// than Redis keeps objects for, and saves six calls.
// `at` holds offsets as text, `first` and `last` are positions in it, from 1 as Lua counts. Gives 1
// if any bit was zero before. BITFIELD's u1 at an offset is the bit that SETBIT names.
constexpr absl::string_view kSetBits = R"lua(
local call = redis.call
local function set(key, at, first, last)
  local new = 0
  while first + 6 <= last do
    local old = call('BITFIELD', key, 'SET', 'u1', at[first], '1', 'SET', 'u1', at[first + 1], '1',
                     'SET', 'u1', at[first + 2], '1', 'SET', 'u1', at[first + 3], '1',
                     'SET', 'u1', at[first + 4], '1', 'SET', 'u1', at[first + 5], '1',
                     'SET', 'u1', at[first + 6], '1')
    if old[1] + old[2] + old[3] + old[4] + old[5] + old[6] + old[7] < 7 then new = 1 end
    first = first + 7
  end
  for i = first, last do
    if call('SETBIT', key, at[i], '1') == 0 then new = 1 end
  end
  return new
end
)lua";

// Times are the server's, in milliseconds. All keys of a filter expire at one of them, but the
// notes of writers: one that began before it and commits after it may die, and whoever makes the
// filter again has nothing else to know its key by.
// Lua's numbers are doubles, in which milliseconds are exact; '%.0f' prints them without an
// exponent. renew() gives the two keys of a rebuild one moment to end, so that neither outlives the
// other. make() writes the last bit, which gives the string all of its bytes at once.
constexpr absl::string_view kTimes = R"lua(
local function now()
  local t = redis.call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end
local function expire(keys, at)
  for _, key in ipairs(keys) do
    if at > 0 then
      redis.call('PEXPIREAT', key, string.format('%.0f', at))
    else
      redis.call('PERSIST', key)
    end
  end
end
local function keep_notes(at)
  expire({KEYS[6]}, at > 0 and at + notes_outlive or 0)
end
local function renew(lease)
  expire({KEYS[4], KEYS[5]}, now() + tonumber(lease))
end
local function make(key, bytes)
  redis.call('SETBIT', key, string.format('%.0f', bytes * 8 - 1), 0)
end
local function configure(rule, bits, probes, generation, at, insertions, rate)
  redis.call('HSET', KEYS[2], 'rule', rule, 'bits', bits, 'probes', probes, 'generation',
             generation, 'expire_at', string.format('%.0f', at))
  -- Redisson would take an incomplete filter for a whole one.
  if rule == 'redisson' and generation ~= '0' then
    redis.call('HSET', KEYS[3], 'size', bits, 'hashIterations', probes, 'expectedInsertions',
               insertions, 'falseProbability', rate)
  end
  expire({KEYS[1], KEYS[2], KEYS[3]}, at)
  keep_notes(at)
end
)lua";

// What lies under the filter's name: 'ours' is a filter of the rule, or nothing at all. A string
// says nothing of itself: it is a filter if the caller knows its shape, and it is no longer.
// KEYS[8] is Redisson's configuration whatever the rule is, so that a filter of Redisson's is not
// taken for an ownerless string. Its type is looked at first, as another program's key of that name
// may be anything. For `most_bytes` -1 no string without a configuration is ours.
constexpr absl::string_view kHolder = R"lua(
local function maker()
  local rule = redis.call('HGET', KEYS[2], 'rule')
  if rule then return rule end
  if redis.call('TYPE', KEYS[8]).ok == 'hash' and redis.call('HEXISTS', KEYS[8], 'size') == 1 then
    return 'redisson'
  end
end
local function holder(rule, most_bytes)
  local type = redis.call('TYPE', KEYS[1]).ok
  if type ~= 'string' and type ~= 'none' then return 'a key of type ' .. type end
  local made_by = maker()
  if made_by then return made_by == rule and 'ours' or 'a filter of ' .. made_by end
  local length = redis.call('STRLEN', KEYS[1])
  if type == 'none' or length <= tonumber(most_bytes) then return 'ours' end
  return 'a string of ' .. length .. ' bytes without a configuration'
end
)lua";

constexpr absl::string_view kLost = R"lua(
if token == '' or token ~= ARGV[1] then return {'lost'} end
)lua";

// Refuses a configuration without a string as well: it is a filter that was evicted in part, which
// a rebuild restores, and an empty one in its place would deny its keys. A rebuild that was left
// over from a filter of before is dropped. The generation of a filter that is made whole is unique,
// so that nobody who knew one of that shape before takes this one for it.
constexpr absl::string_view kCreate = R"lua(
if redis.call('EXISTS', KEYS[1]) == 1 or maker() then return {'exists'} end
redis.call('DEL', KEYS[4], KEYS[5])
make(KEYS[1], tonumber(ARGV[5]))
local ttl = tonumber(ARGV[6])
configure(ARGV[1], ARGV[2], ARGV[3], ARGV[4], ttl > 0 and now() + ttl or 0, ARGV[7], ARGV[8])
return {'ok'}
)lua";

// Reads only. All fields are strings, since a reply of nil would end the array for Lua.
constexpr absl::string_view kDescribe = R"lua(
local e = redis.call('HMGET', KEYS[3], 'expectedInsertions', 'falseProbability')
local n = redis.call('HMGET', KEYS[5], 'token', 'bits', 'probes')
return {'ok', stamp, s[1] or '', s[2] or '', s[3] or '', s[4] or '', c[1] or '', c[2] or '',
        e[1] or '', e[2] or '', n[1] or '', n[2] or '', n[3] or '',
        tostring(redis.call('STRLEN', KEYS[1])), tostring(redis.call('HLEN', KEYS[6])),
        string.format('%.0f', redis.call('PTTL', KEYS[1]))}
)lua";

// Ends with the first zero of each key. A string that is shorter than it must be is no filter: to
// answer from it would deny keys that it has lost. GETBIT beyond the end is 0, which is right for
// strings of others, whose zeros at the end were never written.
constexpr absl::string_view kQuery = R"lua(
if stamp ~= ARGV[1] then return {'changed'} end
if redis.call('STRLEN', KEYS[1]) < tonumber(ARGV[2]) then return {'missing'} end
local call, key, at = redis.call, KEYS[1], cmsgpack.unpack(ARGV[4])
local probes = tonumber(ARGV[3])
local answers = {}
for first = 1, #at, probes do
  local answer = '1'
  for i = first, first + probes - 1 do
    if call('GETBIT', key, at[i]) == 0 then
      answer = '0'
      break
    end
  end
  answers[#answers + 1] = answer
end
return {'ok', table.concat(answers)}
)lua";

// Refuses before anything is written: another configuration or rebuild than the caller has offsets
// for, a string that is not whole, too many notes. The note and the first addition, and at the end
// the second addition and the note's removal, are one step each: README.md, "Rebuilding beside
// writers", says what would be lost otherwise.
constexpr absl::string_view kWrite = R"lua(
if stamp ~= ARGV[1] or token ~= ARGV[3] then return {'changed'} end
if redis.call('STRLEN', KEYS[1]) < tonumber(ARGV[2]) then return {'missing'} end
if ARGV[4] == 'begin' then
  if redis.call('HLEN', KEYS[6]) >= tonumber(ARGV[7]) then return {'full'} end
  redis.call('HSET', KEYS[6], ARGV[5], string.format('%.0f', now()) .. ':' .. ARGV[6])
  keep_notes(tonumber(redis.call('HGET', KEYS[2], 'expire_at') or '0'))
end
local probes = tonumber(ARGV[8])
local at = cmsgpack.unpack(ARGV[9])
local added = 0
for first = 1, #at, probes do
  added = added + set(KEYS[1], at, first, first + probes - 1)
end
if ARGV[10] then
  local later = cmsgpack.unpack(ARGV[10])
  set(KEYS[4], later, 1, #later)
end
if ARGV[4] == 'end' then redis.call('HDEL', KEYS[6], ARGV[5]) end
return {'ok', added}
)lua";

// The number is counted in the filter's own hash, which outlives rebuilds, so that it grows with
// each; the nonce tells tokens apart even if the filter was removed and made anew. From the moment
// when KEYS[5] is there every writer's script is refused until it names the token: none of them
// adds to the old generation alone.
constexpr absl::string_view kStart = R"lua(
local what = holder(ARGV[1], ARGV[2])
if what ~= 'ours' then return {'foreign', what} end
if not s[1] and not c[1] and redis.call('EXISTS', KEYS[1]) == 0 then return {'missing'} end
if token ~= '' then return {'busy', redis.call('PTTL', KEYS[5])} end
local number = redis.call('HINCRBY', KEYS[2], 'fence', 1)
token = number .. '-' .. ARGV[3]
redis.call('DEL', KEYS[4], KEYS[7])
make(KEYS[4], tonumber(ARGV[7]))
redis.call('HSET', KEYS[5], 'token', token, 'bits', ARGV[5], 'probes', ARGV[6], 'bytes', ARGV[7])
renew(ARGV[4])
return {'ok', token, number}
)lua";

// The notes get a day, for the filter that may be made next. UNLINK leaves freeing a large string
// to another thread of the server.
constexpr absl::string_view kRemove = R"lua(
local what = holder(ARGV[1], ARGV[2])
if what ~= 'ours' then return {'foreign', what} end
redis.call('UNLINK', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[7])
redis.call('PEXPIRE', KEYS[6], notes_outlive)
return {'ok'}
)lua";

// Without offsets it renews the lease alone.
constexpr absl::string_view kFill = R"lua(
if ARGV[4] then
  local at = cmsgpack.unpack(ARGV[4])
  set(KEYS[4], at, 1, #at)
end
renew(ARGV[2])
return {'ok'}
)lua";

// An upload that was evicted between two pieces, or before they are united, lacks bits: the rebuild
// is given up, so that nobody commits it without them.
constexpr absl::string_view kUploaded = R"lua(
local function is_uploaded(bytes)
  if redis.call('STRLEN', KEYS[7]) == tonumber(bytes) then return true end
  redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[7])
  return false
end
)lua";

// By APPEND: kUploaded has compared the length with where this piece begins, so that a piece that
// is sent twice, or out of order, is noticed.
constexpr absl::string_view kUpload = R"lua(
if ARGV[3] == '0' then redis.call('UNLINK', KEYS[7]) end
if not is_uploaded(ARGV[3]) then return {'lost'} end
redis.call('APPEND', KEYS[7], ARGV[4])
redis.call('PEXPIRE', KEYS[7], ARGV[2])
renew(ARGV[2])
return {'ok'}
)lua";

// BITOP takes the longer string's length, which is the next generation's: the upload lacks its
// zeros at the end. It makes a key without a time to live, which renew() gives back.
constexpr absl::string_view kUnite = R"lua(
if not is_uploaded(ARGV[3]) then return {'lost'} end
redis.call('BITOP', 'OR', KEYS[4], KEYS[4], KEYS[7])
redis.call('UNLINK', KEYS[7])
renew(ARGV[2])
return {'ok'}
)lua";

// Removing the old string first lets a thread of the server's free it.
// Bits, configuration, time to live and generation change in this one step. Whoever has offsets of
// before is refused from here on by the stamp, since the token becomes the generation. An empty
// ARGV[6] keeps the moment at which the filter expires; of a filter that others made it is the
// string's own. If that moment has come nothing is left to be replaced. With a time to live of its
// own the rebuild goes on, and leaves its number where the next one counts from.
constexpr absl::string_view kCommit = R"lua(
local what = holder(ARGV[3], ARGV[9])
if what ~= 'ours' then return {'foreign', what} end
local is_gone = not s[1] and not c[1] and redis.call('EXISTS', KEYS[1]) == 0
if is_gone and ARGV[6] == '' then
  redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[7])
  return {'lost'}
end
local at = tonumber(redis.call('HGET', KEYS[2], 'expire_at') or '0')
if ARGV[6] ~= '' then
  local ttl = tonumber(ARGV[6])
  at = ttl > 0 and now() + ttl or 0
elseif at == 0 then
  local left = redis.call('PTTL', KEYS[1])
  if left > 0 then at = now() + left end
end
redis.call('UNLINK', KEYS[1])
redis.call('RENAME', KEYS[4], KEYS[1])
redis.call('DEL', KEYS[5])
redis.call('HSET', KEYS[2], 'fence', string.match(token, '^%d+'))
configure(ARGV[3], ARGV[4], ARGV[5], token, at, ARGV[7], ARGV[8])
return {'ok'}
)lua";

constexpr absl::string_view kAbandon = R"lua(
redis.call('UNLINK', KEYS[4], KEYS[5], KEYS[7])
return {'ok'}
)lua";

// Scripts cannot see C++ constants: this one goes in as text, and so into the script's SHA-1.
std::string Times() {
  return absl::StrCat("local notes_outlive = ", kNotesOutlive.count(), "\n", kTimes);
}

}  // namespace

// Every script declares all keys that it may touch, as Redis Cluster demands, even where a branch
// leaves some of them alone.
std::vector<std::string> BitmapKeys(std::string_view name, RedisBitmapRule rule) {
  // What others call name:config is none of ours unless Redisson made it.
  return {std::string(name),
          KeyBeside(name, "winnow"),
          KeyBeside(name, rule == RedisBitmapRule::kRedisson ? "config" : "winnow"),
          KeyBeside(name, "winnow:next"),
          KeyBeside(name, "winnow:rebuild"),
          KeyBeside(name, "winnow:writes"),
          KeyBeside(name, "winnow:upload"),
          KeyBeside(name, "config")};
}

// None is ever destroyed: requests point to them.
const Script& CreateScript() {
  static const Script* const script = new Script(absl::StrCat(Times(), kHolder, kCreate));
  return *script;
}
const Script& DescribeScript() {
  static const Script* const script = new Script(absl::StrCat(kStamp, kDescribe));
  return *script;
}
const Script& QueryScript() {
  static const Script* const script = new Script(absl::StrCat(kStamp, kQuery));
  return *script;
}
const Script& WriteScript() {
  static const Script* const script =
      new Script(absl::StrCat(kSetBits, Times(), kStamp, kToken, kWrite));
  return *script;
}
const Script& StartScript() {
  static const Script* const script =
      new Script(absl::StrCat(Times(), kStamp, kToken, kHolder, kStart));
  return *script;
}
const Script& RemoveScript() {
  static const Script* const script = new Script(absl::StrCat(Times(), kHolder, kRemove));
  return *script;
}
const Script& FillScript() {
  static const Script* const script =
      new Script(absl::StrCat(kSetBits, Times(), kToken, kLost, kFill));
  return *script;
}
const Script& UploadScript() {
  static const Script* const script =
      new Script(absl::StrCat(Times(), kToken, kLost, kUploaded, kUpload));
  return *script;
}
const Script& UniteScript() {
  static const Script* const script =
      new Script(absl::StrCat(Times(), kToken, kLost, kUploaded, kUnite));
  return *script;
}
const Script& CommitScript() {
  static const Script* const script =
      new Script(absl::StrCat(Times(), kStamp, kToken, kLost, kHolder, kCommit));
  return *script;
}
const Script& AbandonScript() {
  static const Script* const script = new Script(absl::StrCat(kToken, kLost, kAbandon));
  return *script;
}

}  // namespace winnow::filter::redis
