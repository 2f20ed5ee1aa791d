// The error for JSON without a schema, on a wire that requires a schema.

import { GatewayError } from '../../normalized/index.ts'

/** @param path the client's field that requests JSON. */
export function refuseJsonWithoutSchema(path: string): GatewayError {
  return new GatewayError('unsupported_response_format', {
    param: path,
    message: `'${path}' requests JSON without a schema, which is not supported: send a schema.`
  })
}
