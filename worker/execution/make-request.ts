// A call other than a chat through an executor that may have none.

import { GatewayError } from '../normalized/index.ts'
import type { CallContext, Executor, ResourceCall, ResourceResponse } from '../providers/types.ts'

/** Like `Executor.request`. Raises `unsupported_semantic` for an executor that has nothing but chats. */
export function makeRequest<Result>(
  executor: Executor,
  call: ResourceCall,
  context: CallContext,
  read: (response: ResourceResponse) => Promise<Result>
): Promise<Result> {
  if (executor.request === undefined) throw new GatewayError('unsupported_semantic', { param: 'model' })
  return executor.request(call, context, read)
}
