// Generated pictures as services send them: 20 MB in one event (providers.md 1).

import { testPictures } from './streaming-providers.ts'

testPictures(20_000_000)
