// Pictures in one event of a stream. `pictures.long.test.ts` has the size of large ones.

import { testPictures } from './streaming-providers.ts'

testPictures(3_000_000)
