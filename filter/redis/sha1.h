// SHA-1 (FIPS 180-4), by which Redis names scripts. Nothing here is a secret.

#ifndef WINNOW_FILTER_REDIS_SHA1_H_
#define WINNOW_FILTER_REDIS_SHA1_H_

#include <string>
#include <string_view>

namespace winnow::filter::redis {

// 40 lower-case hexadecimal digits.
std::string Sha1Digits(std::string_view text);

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_SHA1_H_
