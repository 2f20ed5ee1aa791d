// All cases of the folder that need no settings of their own, in one process against one gateway.

import './answer.cases.ts'
import './attachments.cases.ts'
import './embeddings-models.cases.ts'
import './history.cases.ts'
import './parameters.cases.ts'
import './request.cases.ts'
import './tools.cases.ts'
