// All cases of the folder that need no special settings, in one process against one gateway.

import './failures.cases.ts'
import './structured.cases.ts'
import './text.cases.ts'
import './tools.cases.ts'
