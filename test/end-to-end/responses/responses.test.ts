// All cases of the folder that need no settings of their own, in one process against one gateway.

import './answer.cases.ts'
import './input.cases.ts'
import './request.cases.ts'
import './state.cases.ts'
import './stream.cases.ts'
import './tools.cases.ts'
