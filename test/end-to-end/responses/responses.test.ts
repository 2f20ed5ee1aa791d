// All cases of the folder that need no special settings, in one process against one gateway.

import './output.cases.ts'
import './input.cases.ts'
import './request.cases.ts'
import './state.cases.ts'
import './stream.cases.ts'
import './tools.cases.ts'
