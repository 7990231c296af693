// columns_test.cc: text in columns of a terminal.
#include "common/columns.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

TEST(ColumnsTest, WidthCountsColumnsAndNotBytes) {
  EXPECT_EQ(DisplayWidth("größe"), 5);
  EXPECT_EQ(DisplayWidth("大小"), 4);
  EXPECT_EQ(DisplayWidth("e\xcc\x81"), 1) << "a combining accent takes no column";
}

TEST(ColumnsTest, TruncatedTextFitsAndIsMarked) {
  EXPECT_EQ(Truncate("abcdef", 6), "abcdef");
  EXPECT_EQ(Truncate("abcdef", 4), "abc…");
  EXPECT_EQ(Truncate("大小大小", 4), "大…") << "a wide character is not cut in two";
  EXPECT_EQ(Truncate("abc", 0), "");
}

}  // namespace
}  // namespace dt
