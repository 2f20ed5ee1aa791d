// All cases of the folder that need no special settings, in one process against one gateway.

import './output.cases.ts'
import './attachments.cases.ts'
import './embeddings-models.cases.ts'
import './history.cases.ts'
import './parameters.cases.ts'
import './request.cases.ts'
import './tools.cases.ts'
