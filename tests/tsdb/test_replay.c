#include "tests/tsdb/wal_scene.h"
