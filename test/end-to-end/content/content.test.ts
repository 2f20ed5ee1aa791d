// All cases of the folder that need no special settings, in one process against one gateway.

import './attachments.cases.ts'
import './count-embed-models.cases.ts'
import './output.cases.ts'
import './request.cases.ts'
import './stream.cases.ts'
import './tools.cases.ts'
