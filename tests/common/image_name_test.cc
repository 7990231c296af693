// image_name_test.cc: names of images that pass, and those that do not.
#include "common/image_name.h"

#include <gtest/gtest.h>

namespace dt {
namespace {

const std::string kDigest = "sha256:" + std::string(64, 'a');

TEST(ImageNameTest, NamesOfRegistriesPass) {
  for (const std::string& name :
       {std::string("python"), std::string("python:3.12"), std::string("ghcr.io/me/train:1"),
        std::string("localhost/x:v_1.0-b"), std::string("localhost:5000/x"),
        std::string("Registry.example:5000/a/b/c:T"), std::string("localhost:65535/x"),
        std::string("10.1.2.3/x"), std::string("[::1]:5000/x"), std::string("xn--a.example/x"),
        std::string("my_team/a__b/c.d/e---f"), "python@" + kDigest,
        "docker.io/library/python:3@" + kDigest}) {
    EXPECT_EQ(ImageNameProblem(name), "") << name;
  }
}

TEST(ImageNameTest, WhatARuntimeWouldTakeForSomethingElseIsRefused) {
  for (const std::string name : {"",
                                 "-v=/:/host",
                                 "--privileged",
                                 " python",
                                 "python 3",
                                 "python:",
                                 "a//b",
                                 "/abs/x.sif",
                                 "oci-archive:/etc/x",
                                 "dir:/etc",
                                 "python@sha256:12",
                                 "python@md5:1",
                                 "a:b:c",
                                 "./x",
                                 "x\n--privileged",
                                 "me/-x",
                                 "a:-t",
                                 "Python",
                                 "python;id",
                                 "-h:1/x",
                                 "a..b",
                                 "a..b/x",
                                 "me/a..b",
                                 "me/../x",
                                 "me/a___b",
                                 "me/a_-b",
                                 "me/a._b",
                                 "registry-.example/x",
                                 ".example/x",
                                 "example./x",
                                 "localhost:0/x",
                                 "localhost:65536/x",
                                 "localhost:99999999999/x",
                                 "localhost:-1/x",
                                 "localhost:+1/x",
                                 "localhost:1a/x",
                                 "localhost:1:2/x",
                                 "[::1/x",
                                 "[]/x",
                                 "[/etc]/x"}) {
    EXPECT_NE(ImageNameProblem(name), "") << name;
  }
}

TEST(ImageNameTest, TheProblemNamesTheFix) {
  EXPECT_NE(ImageNameProblem("docker://python:3").find("write the name alone"), std::string::npos);
  EXPECT_NE(ImageNameProblem("me/Train").find("capital"), std::string::npos);
  EXPECT_EQ(ImageNameProblem("localhost:99999999999/x"),
            "has the port '99999999999'; a port is a number from 1 to 65535");
  EXPECT_EQ(ImageNameProblem("a..b"),
            "is no name of an image; write NAME:TAG, such as ghcr.io/me/train:1");
}

TEST(ImageNameTest, NameAndDigestAreFound) {
  EXPECT_EQ(ImageRepository("localhost:5000/a/b:1@" + kDigest), "localhost:5000/a/b");
  EXPECT_EQ(ImageRepository("localhost:5000/a"), "localhost:5000/a");
  EXPECT_EQ(ImageRepository("[::1]:5000/a:1"), "[::1]:5000/a");
  EXPECT_EQ(ImageRepository("python"), "python");
  EXPECT_EQ(ImageDigest("python:3"), "");
  EXPECT_EQ(ImageDigest("python@" + kDigest), kDigest);
}

}  // namespace
}  // namespace dt
