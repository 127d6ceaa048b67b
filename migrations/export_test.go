package migrations

// UpTo is Up that stops at a version, for tests of an upgrade.
var UpTo = upTo
