#pragma once
#define ROCKSDB_NAMESPACE rocksdb
