#include "common/library_words.h"

#include "gtest/gtest.h"

namespace dt {
namespace {

TEST(LibraryWordsTest, APlaceInALibrarysSourceIsLeftOut) {
  EXPECT_EQ(
      InPlainWords("[../third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by "
                   "peer [10.0.0.2]:41234"),
      "Connection closed by peer [10.0.0.2]:41234");
  EXPECT_EQ(InPlainWords("[enforce fail at x.cpp:12] no"), "[enforce fail at x.cpp:12] no");
  EXPECT_EQ(InPlainWords("rank 0: [/build/a/context.cc:30] connectFullMesh failed"),
            "rank 0: connectFullMesh failed");
}

TEST(LibraryWordsTest, MillisecondsAreWrittenInReadableUnits) {
  EXPECT_EQ(
      InPlainWords("[x/unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation to "
                   "complete"),
      "Timed out waiting 10 min for recv operation to complete");
  EXPECT_EQ(InPlainWords("waited 90000ms"), "waited 90 s");
  EXPECT_EQ(InPlainWords("waited 1500ms."), "waited 1500 ms.");
}

TEST(LibraryWordsTest, OtherTextStays) {
  for (const char* text : {"", "[", "[a:b]", "[::1]:80", "x[3]", "v2.0ms-beta", "12msg", "1.5ms",
                           "99999999999999999999ms", "see a.cc:12"}) {
    EXPECT_EQ(InPlainWords(text), text);
  }
}

}  // namespace
}  // namespace dt
