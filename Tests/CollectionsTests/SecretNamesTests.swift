// Call ids that nobody can guess: the keyed function behind them.

import Collections
import Testing

@Suite struct SecretNamesTests {
    /// The authors' test vector for the eight bytes 00…07 under the key 00…0f.
    @Test func agreesWithThePublishedVector() {
        let names = SecretNames(0x0706_0504_0302_0100, 0x0F0E_0D0C_0B0A_0908)
        #expect(names.secret(of: 0x0706_0504_0302_0100) == 0x93F5_F579_9A93_2462)
    }

    @Test func dependsOnBothHalvesOfTheKey() {
        let secret = SecretNames(1, 2).secret(of: 7)
        #expect(SecretNames(1, 3).secret(of: 7) != secret)
        #expect(SecretNames(2, 2).secret(of: 7) != secret)
        #expect(SecretNames(1, 2).secret(of: 7) == secret)
    }
}
