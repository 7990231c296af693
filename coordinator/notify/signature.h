// signature.h: by which a receiver knows that a notice is from its coordinator.
//
// Role:   pure.
// Source: RFC 2104 (HMAC) with SHA-256, by libcrypto; written as GitHub's webhooks write it.
// Tests:  tests/coordinator/notify/body_test.cc
#pragma once

#include <string>

namespace dt {

// "sha256=" and 64 hex digits in small letters; "" without a key.
std::string SignatureOf(const std::string& key, const std::string& body);

}  // namespace dt
