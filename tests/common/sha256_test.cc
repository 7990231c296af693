#include "common/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace dt {
namespace {

TEST(Sha256Test, GivesThePublishedDigests) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, DoesNotDependOnHowTheTextIsCut) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  const std::string whole = Sha256Hex(text);
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 hash;
    hash.Update(text.substr(0, cut));
    hash.Update(text.substr(cut));
    ASSERT_EQ(hash.FinishHex(), whole) << cut;
  }
}

TEST(Sha256Test, TheFastPathEqualsThePortableOne) {
  if (!Sha256IsAccelerated()) GTEST_SKIP() << "this processor has no SHA instructions";
  std::string text(64 * 5, '\0');
  for (size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * i + 3);
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char padding[64] = {0x80};
  padding[62] = static_cast<unsigned char>(text.size() * 8 >> 8);
  padding[63] = static_cast<unsigned char>(text.size() * 8);
  Sha256BlocksPortableForTest(state, reinterpret_cast<const unsigned char*>(text.data()), 5);
  Sha256BlocksPortableForTest(state, padding, 1);
  char hex[65];
  for (int i = 0; i < 8; ++i) snprintf(hex + 8 * i, 9, "%08x", state[i]);
  EXPECT_EQ(Sha256Hex(text), hex);
}

}  // namespace
}  // namespace dt
