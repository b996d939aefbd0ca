// Names how much strangers may make this project hold, read or wait for. docs/wire.md has a row for
// each; tools/check_docs.py compares the two.
//
// Written as plain numbers, so that a script can read them.
#pragma once

#include <cstddef>

namespace paceline::limits {

// A manifest as its user wrote it, and the text of one override.
inline constexpr size_t kManifestBytesMax = 1'048'576;
inline constexpr size_t kManifestValuesMax = 100'000;  // Those that an alias stands for too.
inline constexpr size_t kManifestDepthMax = 100;       // Lists and objects around one value.
inline constexpr size_t kManifestKeyBytesMax = 1'024;
inline constexpr size_t kManifestErrorsMax = 100;  // Listed before the rest is left unread.

// The same job with its defaults and status, as JSON.
inline constexpr size_t kStoredJobBytesMax = 4'194'304;
inline constexpr size_t kStoredJobValuesMax = 200'000;

// JSON of other origin: what lies deeper is left out. Far below what a stack can hold and far above
// what any reader here accepts.
inline constexpr size_t kJsonDepthMax = 1'000;

// HTTP endpoints.
inline constexpr size_t kHttpConnectionsMax = 16'384;
inline constexpr size_t kHttpConnectionsPerPeerMax = 2'048;  // An IPv4 address, an IPv6 /64.
inline constexpr size_t kHttpHeadBytesMax = 16'384;
inline constexpr size_t kHttpBodyBytesMax = 4'194'304;
inline constexpr size_t kHttpHeldBytesMax = 67'108'864;  // Bodies and answers of all connections.
inline constexpr size_t kHttpRequestsWaitingMax = 256;   // For a thread; of probes, and of others.
inline constexpr double kHttpRequestSecondsMax = 10;     // From its first byte to its last.
inline constexpr double kHttpIdleSecondsMax = 60;        // Between two requests.
inline constexpr double kHttpUnreadSecondsMax = 30;      // Without a byte of the answer taken.
inline constexpr size_t kHttpAnswerBytesMax = 67'108'864;  // That our own requests take.

// gRPC.
inline constexpr size_t kGrpcConnectionsMax = 16'384;
inline constexpr size_t kGrpcConnectionsPerPeerMax = 2'048;  // An IPv4 address, an IPv6 /64.
inline constexpr int kMessageBytesMax = 16'777'216;  // To a server: a chunk, a layout, a commit.
inline constexpr int kAnswerBytesMax = 67'108'864;   // To a client: norms of a slice's blocks, too.
inline constexpr int kMetadataBytesMax = 8'192;
inline constexpr int kStreamsPerConnectionMax = 64;
inline constexpr double kHandshakeSecondsMax = 20;
inline constexpr double kJoinSecondsMax = 60;  // Of a session with the coordinator, to its join.
inline constexpr size_t kPullsWaitingMax = 16;
inline constexpr size_t kAnswersWaitingMax = 64;
inline constexpr size_t kStagingSlotsMax = 2;
inline constexpr size_t kStretchesMax = 65'536;  // Of a transfer, apart from each other.

// Shared memory between processes of one machine: connections of workers, and one message of
// theirs.
inline constexpr size_t kMemoryConnectionsMax = 1'024;
inline constexpr size_t kMemoryMessageBytesMax = 16'777'216;

}  // namespace paceline::limits
