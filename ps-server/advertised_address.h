// Defines AdvertisedAddress: the address that others are told.
#pragma once

#include <string>

#include "lib/base/status.h"
#include "ps-server/options.h"

namespace paceline::ps {

// `options.advertise`, with the port of `listening` in the place of port 0; without it `listening`
// itself, the server's address. InvalidArgument if that is every address of the machine, which
// nobody can dial.
StatusOr<std::string> AdvertisedAddress(const Options& options, const std::string& listening);

}  // namespace paceline::ps
