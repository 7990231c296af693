// signature.h: the signature that proves to a receiver that its coordinator sent a notice.
//
// Role:   pure.
// Source: RFC 2104 (HMAC) with SHA-256, by libcrypto; in the format of GitHub's webhooks.
// Tests:  tests/coordinator/notify/body_test.cc
#pragma once

#include <string>

namespace dt {

// Returns "sha256=" and 64 lowercase hex digits; "" without a key.
std::string SignatureOf(const std::string& key, const std::string& body);

}  // namespace dt
