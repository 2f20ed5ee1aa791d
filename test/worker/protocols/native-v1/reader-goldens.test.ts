import { createNativeV1Reader } from '../../../../worker/protocols/native-v1/provider.ts'
import { testGoldens } from '../native/goldens.ts'

testGoldens('native-v1', createNativeV1Reader)
