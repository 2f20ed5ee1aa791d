// All cases of the folder, in one process against one gateway: each SDK is imported once.

import './scenarios.cases.ts'
import './broken-content-streams.cases.ts'
