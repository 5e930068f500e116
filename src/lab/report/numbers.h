// What reports make of several values.
#pragma once

#include <vector>

namespace tutti {

double mean(const std::vector<double>& values);
// Of the sample.
double deviation(const std::vector<double>& values);
// Three digits more than anybody needs; keeps reports readable.
double rounded(double value);

}  // namespace tutti
