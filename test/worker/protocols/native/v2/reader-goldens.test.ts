import { createNativeV2Reader } from '../../../../../worker/protocols/native/v2/face.ts'
import { testGoldens } from '../goldens.ts'

testGoldens('native-v2', createNativeV2Reader, { 'calls-buffered': { reading: { buffersToolCalls: true } } })
