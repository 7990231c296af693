// train_vocabulary.h: trains a vocabulary for the benchmark if GPT-2's is absent.
//
// Role:   pure; the same text gives the same merges.
// Source: P. Gage, "A New Algorithm for Data Compression" (1994), on the words of a text as R.
//         Sennrich, B. Haddow and A. Birch use it (2016).
#pragma once

#include <string>
#include <string_view>

namespace dt::bench {

// Returns the text of a vocab.bpe: a line "#version …", then at most `merges` merges of `text`'s
// bytes, most frequent first. Spaces and line ends separate words, each with the space before it.
std::string TrainVocabulary(std::string_view text, int merges);

}  // namespace dt::bench
