// TLS to a gRPC collector that is given by its IP address. The gRPC library sends the host of every address as the name of the server; TLS has
// no such names for addresses (RFC 6066, section 3), and Node refuses them since version 26.

import type { Socket } from 'node:net'
import { connect, createSecureContext } from 'node:tls'
import type { CallCredentials, ChannelCredentials, experimental } from '@grpc/grpc-js'

type GrpcLibrary = typeof import('@grpc/grpc-js')

/**
 * Returns credentials that accept only a server whose certificate has this address.
 * @param library given, because it is loaded only where spans are exported over gRPC.
 * @param certificate the authority to trust, in PEM form; undefined for those of Node.
 */
export function createAddressCredentials(
  library: GrpcLibrary,
  address: string,
  certificate: Buffer | undefined
): ChannelCredentials {
  const secureContext = createSecureContext(certificate === undefined ? {} : { ca: certificate })

  function secure(socket: Socket): Promise<experimental.SecureConnectResult> {
    return new Promise((resolve, reject) => {
      const secured = connect({ socket, host: address, secureContext, ALPNProtocols: ['h2'] })
      secured.on('error', reject)
      secured.once('secureConnect', () => resolve({ socket: secured, secure: true }))
    })
  }

  class AddressCredentials extends library.ChannelCredentials {
    _isSecure(): boolean {
      return true
    }

    _equals(other: ChannelCredentials): boolean {
      return other === this
    }

    _createSecureConnector(
      _target: object,
      _options: object,
      calls: CallCredentials = library.CallCredentials.createEmpty()
    ): experimental.SecureConnector {
      return {
        connect: secure,
        waitForReady: () => Promise.resolve(),
        getCallCredentials: () => calls,
        destroy: () => undefined
      }
    }
  }
  return new AddressCredentials()
}
